// A chat as a team writes it: `useChat` with its defaults, what it has said kept in the tab.
import { useChat } from "@ai-sdk/react";
import { DefaultChatTransport, lastAssistantMessageIsCompleteWithApprovalResponses, lastAssistantMessageIsCompleteWithToolCalls } from "ai";
import { useEffect, useState } from "react";
import { createRoot } from "react-dom/client";

// As docs/guide/clients.md has it: a version that knows all parts says so.
const headers = MAJOR === "7" ? { "x-ai-sdk-version": "7" } : {};
const asked = new URLSearchParams(location.search);
const id = asked.get("id");
const kept = JSON.parse(sessionStorage.getItem(id) ?? "[]");

function Part({ part, decide }) {
  if (part.type === "text") return <span data-text="">{part.text}</span>;
  if (part.type === "reasoning") return <i data-reasoning="">{part.text}</i>;
  if (!part.toolCallId) return null;
  return (
    <div data-call={part.toolCallId} data-tool={part.type.replace("tool-", "")} data-state={part.state}>
      {JSON.stringify(part.output)}
      {part.state === "approval-requested" && (
        <>
          <button onClick={() => decide({ id: part.approval.id, approved: true })}>Approve</button>
          <button onClick={() => decide({ id: part.approval.id, approved: false, reason: "Not today." })}>Reject</button>
        </>
      )}
    </div>
  );
}

function Chat() {
  const [said, setSaid] = useState("");
  const chat = useChat({
    id,
    messages: kept,
    resume: kept.length > 0,
    transport: new DefaultChatTransport({ api: "/api/chat", headers }),
    sendAutomaticallyWhen: (it) => lastAssistantMessageIsCompleteWithApprovalResponses(it) || lastAssistantMessageIsCompleteWithToolCalls(it),
    onToolCall: ({ toolCall: { toolName, toolCallId } }) => {
      if (toolName === "ask_user") chat.addToolOutput({ tool: toolName, toolCallId, output: `The page is called ${document.title}.` });
    },
  });
  const { messages, status, error } = chat;
  useEffect(() => sessionStorage.setItem(id, JSON.stringify(messages)), [messages]);
  const send = (event) => {
    event.preventDefault();
    chat.sendMessage({ text: said });
    setSaid("");
  };
  // A connection that is closed ends nothing.
  const stop = () => {
    chat.stop();
    fetch(`/api/chat/${id}/stream`, { method: "DELETE" });
  };
  const edit = () => chat.sendMessage({ text: said, messageId: messages.findLast((it) => it.role === "user").id });
  return (
    <main data-status={status} data-error={error?.message}>
      {messages.map((message) => (
        <article key={message.id} data-role={message.role} data-id={message.id}>
          {message.parts.map((part, at) => <Part key={at} part={part} decide={chat.addToolApprovalResponse} />)}
          {message.role === "assistant" && <button onClick={() => chat.regenerate({ messageId: message.id })}>This again</button>}
        </article>
      ))}
      <form onSubmit={send}>
        <input aria-label="Message" value={said} onChange={(event) => setSaid(event.target.value)} />
        <button>Send</button>
      </form>
      <button onClick={edit}>Edit</button>
      <button onClick={stop}>Stop</button>
      <button onClick={() => chat.regenerate()}>Again</button>
    </main>
  );
}

createRoot(document.querySelector("#root")).render(<Chat />);
