// Addresses in texts of models and tools.

const SAFE = new Set(["http:", "https:", "mailto:"]);

/// Returns an address that may be a link, or `null`: only the web and mail, and nothing that a browser would read differently.
export function address(text) {
  if (text.length > 4096 || /[\u0000-\u0020\u007f-\u009f]/.test(text)) return null;
  let url;
  try {
    url = new URL(text);
  } catch {
    return null;
  }
  return SAFE.has(url.protocol) ? url.href : null;
}

/// Returns a link to a safe address, which opens apart and is told nothing of this page; a text where the address is not one.
export function link(to, ...children) {
  const href = address(to);
  if (href === null) return plain(children);
  const node = document.createElement("a");
  node.href = href;
  node.title = href;
  node.target = "_blank";
  node.rel = "noopener noreferrer nofollow";
  node.append(...children);
  return node;
}

function plain(children) {
  const node = document.createElement("span");
  node.className = "no-link";
  node.title = "Not a link: its address is not a web address";
  node.append(...children);
  return node;
}

/// Returns what stands for a picture: none is loaded, it is a link.
export function picture(to, alt) {
  return link(to, alt === "" ? "picture" : `${alt} (picture)`);
}
