#!/bin/sh
# An MCP server with one tool, which adds a line to the file in $NOTES. It reads requests and writes answers, one a line.
while IFS= read -r line; do
    id=${line#*'"id":'}
    id=${id%%[,\}]*}
    case $line in
    *'"initialize"'*)
        result='{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"notes","version":"1"}}'
        ;;
    *'"tools/list"'*)
        schema='{"type":"object","properties":{"text":{"type":"string"}},"required":["text"]}'
        result='{"tools":[{"name":"add","description":"Adds a note.","inputSchema":'"$schema"'}]}'
        ;;
    *'"tools/call"'*)
        text=${line#*'"text":"'}
        text=${text%%'"'*}
        printf '%s\n' "$text" >>"$NOTES"
        result='{"content":[{"type":"text","text":"It is note '"$(wc -l <"$NOTES" | tr -d ' ')"'."}]}'
        ;;
    *) continue ;;
    esac
    printf '{"jsonrpc":"2.0","id":%s,"result":%s}\n' "$id" "$result"
done
