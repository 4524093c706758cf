"""Builds mutants of cargo-mutants all at once, and runs the tests with one at a time.

cargo-mutants builds a crate anew for each. Here each becomes a branch that `FORGELINE_MUTANT` takes, in a copy of the
sources below target/mutants: one build, one run of each test that tells which mutants it reaches, and then only those
tests with each mutant. Prints those that no test notices and that .cargo/mutants-survivors.txt does not name, then the
counts of each room; target/mutants/outcomes.json has all. Constants, `const fn` and functions that return `impl Trait`
cannot have a branch and count as unviable, like what does not compile. Exits with 1 if one survived.
"""

import argparse, collections, concurrent.futures, json, os, pathlib, random, re, subprocess, sys, time, tomllib
import tree_sitter, tree_sitter_rust

ROOT = pathlib.Path(__file__).resolve().parent.parent
OUT = ROOT / "target/mutants"
TREE = OUT / "tree"
# Crates below the rooms, whose tests reach no mutant, and checks of the sources, which would find each.
BESIDE = "json types macros parser llm core skills bench itest".split()
# The tests of the others and of the command.
TESTS = ["--workspace", "--lib", "--test=cli", "--features=forgeline-cli/serve", *(f"--exclude=forgeline-{it}" for it in BESIDE)]
# Tests of the command that read each text at each cut, of the parser's rows.
SLOW = ("cuts::", "dialect_fixtures::")
# Why some survive.
SURVIVORS = (ROOT / ".cargo/mutants-survivors.txt").read_text().splitlines()
REASONS = dict(line.split(" -- ", 1) for line in SURVIVORS if not line.startswith("#"))
PARSER = tree_sitter.Parser(tree_sitter.Language(tree_sitter_rust.language()))
SWITCH = """
/// Tells whether this mutant is the chosen one, and notes that it was reached.
#[doc(hidden)]
#[allow(warnings, clippy::all, clippy::pedantic)]
pub fn mutant(number: u32) -> bool {
    use std::{collections::BTreeSet, io::Write, sync::{LazyLock, Mutex}};
    static CHOSEN: LazyLock<u32> = LazyLock::new(|| std::env::var("FORGELINE_MUTANT").map_or(0, |n| n.parse().unwrap()));
    static SEEN: Mutex<BTreeSet<u32>> = Mutex::new(BTreeSet::new());
    static FILE: LazyLock<Option<String>> = LazyLock::new(|| std::env::var("FORGELINE_MUTANTS_SEEN").ok());
    if let Some(file) = &*FILE && SEEN.lock().unwrap().insert(number) {
        let mut file = std::fs::File::options().append(true).create(true).open(file).unwrap();
        file.write_all(format!("{number}\\n").as_bytes()).unwrap();
    }
    *CHOSEN == number
}
"""


def offset(lines, place):
    """Byte of a line and column, both counted from 1, the column in characters."""
    line = lines[place["line"] - 1]
    return sum(map(len, lines[: place["line"] - 1])) + len(line.decode()[: place["column"] - 1].encode())


def above(node, kind):
    while node and node.type != kind:
        node = node.parent
    return node


def edit(mutant, number, source, root):
    """Where the branch of a mutant goes, and a function that writes it; None if it cannot be one."""
    lines, test = source.splitlines(keepends=True), f"crate::mutant({number})"
    start, end = (offset(lines, mutant["span"][side]) for side in ("start", "end"))
    node, text = root.descendant_for_byte_range(start, end), mutant["replacement"]

    def either(node, other):
        begin, end = node.start_byte, node.end_byte
        return begin, end, lambda inner: f"(if {test} {{ {other(inner)} }} else {{ {inner(begin, end)} }})"

    if above(node, "const_item") or above(node, "static_item"):
        return None
    part = lambda inner, node: inner(node.start_byte, node.end_byte)
    match mutant["genre"]:
        case "FnValue":
            function = above(node, "function_item")
            place = function.child_by_field_name("body").start_byte + 1
            head = source[function.start_byte : place].decode()
            if re.search(r"\bconst\b.*\bfn\b", head.split("(")[0]) or "impl " in mutant["function"]["return_type"]:
                return None
            return place, place, lambda inner: f" if {test} {{ return {text}; }}"
        case "BinaryOperator":
            node = node if node.is_named else node.parent
            if node.type not in ("binary_expression", "compound_assignment_expr"):
                return None
            left, right = node.child_by_field_name("left"), node.child_by_field_name("right")
            return either(node, lambda inner: f"{part(inner, left)} {text} {part(inner, right)}")
        case "UnaryOperator":
            node = above(node, "unary_expression")
            return either(node, lambda inner: part(inner, node.named_child(0)))
        case "MatchArmGuard":
            if node.type == "let_chain" or above(node, "let_chain"):
                return None
            return either(node, lambda inner: text)
        case "MatchArm":
            pattern = above(node, "match_arm").child_by_field_name("pattern")
            if condition := pattern.child_by_field_name("condition"):
                wrap = "{}" if condition.type == "let_chain" or "let_condition" in condition.type else "({})"
                return condition.start_byte, condition.end_byte, lambda inner: f"!{test} && " + wrap.format(part(inner, condition))
            return pattern.end_byte, pattern.end_byte, lambda inner: f" if !{test}"
        case "StructField":
            whole = above(node, "struct_expression")
            after = end + len(re.match(rb"\s*,?", source[end : whole.end_byte])[0])
            return either(whole, lambda inner: inner(whole.start_byte, start) + inner(after, whole.end_byte))
    return None


def rewrite(source, edits):
    """The source with all edits, one within the other where they overlap; each between two comments with its number."""

    def render(start, end, edits):
        out, at = "", start
        edits = sorted(edits, key=lambda e: (e[1], -e[2], e[0]))
        while edits:
            number, first, last, write = edits[0]
            inside = [e for e in edits[1:] if e[1] < last and e[2] <= last]
            edits = [e for e in edits[1:] if e[1] >= last]
            inner = lambda a, b, inside=inside: render(a, b, [e for e in inside if a <= e[1] and e[2] <= b])
            out += source[at:first].decode() + f"/*<{number}*/{write(inner)}/*{number}>*/"
            at = last
        return out + source[at:end].decode()

    return render(0, len(source), edits)


def write_tree(mutants, left):
    """Copies the sources, with those mutants; returns the text of each changed file."""
    files = subprocess.check_output(["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"], cwd=ROOT, text=True).split("\0")[:-1]
    by_file, changed = collections.defaultdict(list), {}
    for number, mutant in mutants.items():
        by_file[mutant["file"]].append(number)
    roots = {mutant["root"] for mutant in mutants.values()}
    for file in files:
        if (ROOT / file).is_symlink() or not (ROOT / file).exists():
            continue
        data, edits = (ROOT / file).read_bytes(), []
        if file in by_file:
            tree = PARSER.parse(data)
            for number in by_file[file]:
                if number in left:
                    continue
                if found := edit(mutants[number], number, data, tree.root_node):
                    edits.append((number, *found))
                else:
                    left[number] = "cannot be a branch"
            changed[file] = rewrite(data, edits)
            data = changed[file].encode()
        if file in roots:
            data += SWITCH.encode()
        copy = TREE / file
        if not copy.exists() or copy.read_bytes() != data:
            copy.parent.mkdir(parents=True, exist_ok=True)
            copy.write_bytes(data)
            copy.chmod((ROOT / file).stat().st_mode)
    return changed


def build(mutants, left):
    """Builds the tests; mutants that do not compile go to `left`. Returns the programs."""
    while True:
        changed = write_tree(mutants, left)
        command = ["cargo", "test", "--no-run", "--message-format=json", *TESTS]
        run = subprocess.run(command, cwd=TREE, text=True, stdout=subprocess.PIPE, env={**os.environ, "CARGO_TARGET_DIR": str(OUT / "target")})
        messages = [json.loads(line) for line in run.stdout.splitlines() if line.startswith("{")]
        if run.returncode == 0:
            return [(m["executable"], m["manifest_path"]) for m in messages if m.get("executable") and m["profile"]["test"]]
        bad = {}
        for message in messages:
            if message["reason"] != "compiler-message" or message["message"]["level"] != "error":
                continue
            rendered = message["message"]["rendered"]
            for span in message["message"]["spans"]:
                text = changed.get(span["file_name"], "").encode()
                before, within = text[: span["byte_start"]], text[span["byte_start"] : span["byte_end"]]
                closed = re.findall(rb"/\*(\d+)>\*/", before)
                around = [n for n in re.findall(rb"/\*<(\d+)\*/", before) if n not in closed]
                for number in around[-1:] or re.findall(rb"/\*<(\d+)\*/", within) or arms_of(text, span, mutants):
                    bad[int(number)] = rendered.splitlines()[0]
        bad = {n: why for n, why in bad.items() if n not in left}
        if not bad:
            sys.exit("\n".join(m["message"]["rendered"] for m in messages if m["reason"] == "compiler-message" and m["message"]["level"] == "error"))
        print("\n".join(f"does not compile: {mutants[n]['name']}: {why}" for n, why in bad.items()), file=sys.stderr, flush=True)
        left |= bad


def arms_of(text, span, mutants):
    """The mutants that take an arm away from the `match` at a place: without it, not all values are covered."""
    found = PARSER.parse(text).root_node.descendant_for_byte_range(span["byte_start"], span["byte_end"])
    found = above(found, "match_expression")
    within = text[found.start_byte : found.end_byte] if found else b""
    return [n for n in re.findall(rb"/\*<(\d+)\*/", within) if mutants[int(n)]["genre"] == "MatchArm"]


def run_test(program, manifest, test, chosen, seconds):
    """Runs one test; returns whether it passed, the mutants that it reached, and its seconds."""
    begun = time.monotonic()
    seen = OUT / "seen" / f"{os.getpid()}-{random.random()}"
    env = {**os.environ, "FORGELINE_MUTANT": str(chosen), "CARGO_MANIFEST_DIR": os.path.dirname(manifest)}
    if not chosen:
        env["FORGELINE_MUTANTS_SEEN"] = str(seen)
    quiet = dict.fromkeys(["stdin", "stdout", "stderr"], subprocess.DEVNULL)
    folder = os.path.dirname(manifest)
    run = subprocess.Popen([program, "--exact", test, "-q"], cwd=folder, env=env, start_new_session=True, **quiet)
    try:
        passed = run.wait(seconds) == 0
    except subprocess.TimeoutExpired:
        os.killpg(run.pid, 9)
        run.wait()
        passed = None
    reached = sorted({int(line) for line in seen.read_text().split()}) if seen.exists() else []
    seen.unlink(missing_ok=True)
    return passed, reached, time.monotonic() - begun


def list_mutants(*arguments):
    """The mutants of cargo-mutants, each with its room and the root file of its crate."""
    listed = json.loads(subprocess.check_output(["cargo", "mutants", "--list", "--json", "--workspace", *arguments], cwd=ROOT) or "[]")
    globs = tomllib.loads((ROOT / ".cargo/mutants.toml").read_text())["examine_globs"]
    for mutant in listed:
        folder = next(f for f in (ROOT / mutant["file"]).parents if (f / "Cargo.toml").exists())
        lib = next(f for f in (folder / "lib.rs", folder / "src/lib.rs") if f.exists())
        mutant["root"] = str(lib.relative_to(ROOT))
        mutant["room"] = next(glob for glob in globs if mutant["file"].startswith(glob[: -len("**/*.rs")]))[: -len("/**/*.rs")]
    return listed


def draw(listed, seed, count):
    rooms = collections.defaultdict(list)
    for mutant in listed:
        rooms[mutant["room"]].append(mutant)
    return [m for room, of_room in rooms.items() for m in random.Random(f"{seed} {room}").sample(of_room, min(count, len(of_room)))]


def judge(mutants, left):
    """Runs the tests with each mutant that is not in `left`, and notes the outcome in it."""
    programs, tests, reached, cost = build(mutants, left), [], collections.defaultdict(list), {}
    for program, manifest in programs:
        listed = subprocess.check_output([program, "--list", "--format", "terse"], text=True, cwd=os.path.dirname(manifest))
        names = [line[: -len(": test")] for line in listed.splitlines() if line.endswith(": test")]
        tests += [(program, manifest, name) for name in names if not name.startswith(SLOW)]
    print(f"{len(tests)} tests, {len(mutants) - len(left)} mutants", file=sys.stderr, flush=True)
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        for test, (passed, numbers, seconds) in zip(tests, pool.map(lambda test: run_test(*test, 0, 120), tests)):
            if not passed:
                print(f"fails or hangs without a mutant: {test[2]}", file=sys.stderr, flush=True)
                continue
            cost[test] = seconds
            for number in numbers:
                reached[number].append(test)

        def outcome(number):
            crate = os.path.dirname(TREE / mutants[number]["root"])
            # Those of the crate first, the quickest of them first.
            for test in sorted(reached[number], key=lambda test: (not crate.startswith(os.path.dirname(test[1])), cost[test])):
                passed, *_ = run_test(*test, number, 60 + 10 * cost[test])
                if not passed:
                    return {"outcome": "timeout" if passed is None else "killed", "test": test[2], "program": os.path.basename(test[0])}
            return {"outcome": "survived", "reached": [test[2] for test in reached[number]]}

        numbers = [number for number in mutants if number not in left]
        for number, result in zip(numbers, pool.map(outcome, numbers)):
            mutants[number] |= result
            if result["outcome"] == "survived" and not (reason := REASONS.get(key(mutants[number]))):
                print(f"survived, reached by {len(reached[number])} tests: {mutants[number]['name']}", flush=True)
            elif result["outcome"] == "survived":
                mutants[number] |= {"outcome": "with reason", "why": reason}


def key(mutant):
    """The name of a mutant without the place, which other changes move."""
    return re.sub(r":\d+:\d+:", ":", mutant["name"], count=1)


def main():
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--in-diff", metavar="FILE", help="all mutants of the lines that this difference adds")
    arguments.add_argument("--seed", default="0", help="draw others")
    arguments.add_argument("--count", type=int, default=20, help="how many of each room are drawn")
    arguments.add_argument("--names", metavar="FILE", help="those of these names alone, a line each, as they are printed")
    given = arguments.parse_args()
    listed = list_mutants(*(["--in-diff", given.in_diff] if given.in_diff else []))
    if given.names:
        names = pathlib.Path(given.names).read_text().splitlines()
        drawn = [mutant for mutant in listed if mutant["name"] in names]
    else:
        drawn = listed if given.in_diff else draw(listed, given.seed, given.count)
    if not drawn:
        sys.exit("no mutants there")
    mutants, left = dict(enumerate(drawn, 1)), {}
    (OUT / "seen").mkdir(parents=True, exist_ok=True)
    judge(mutants, left)
    for number, why in left.items():
        mutants[number] |= {"outcome": "unviable", "why": why}
    (OUT / "outcomes.json").write_text(json.dumps(list(mutants.values()), indent=1))
    counts = collections.Counter((mutant["room"], mutant["outcome"]) for mutant in mutants.values())
    columns = ["unviable", "killed", "timeout", "with reason", "survived"]
    print("| room | drawn |", " | ".join(columns), "|\n|---|", "---|" * (1 + len(columns)), sep="")
    for room in dict.fromkeys(mutant["room"] for mutant in mutants.values()):
        row = [counts[room, column] for column in columns]
        print(f"| {room} | {sum(row)} |", " | ".join(map(str, row)), "|")
    sys.exit(any(mutant["outcome"] == "survived" for mutant in mutants.values()))


main()
