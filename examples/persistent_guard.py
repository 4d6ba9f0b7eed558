# A persistent guard: asked in one line of JSON, answers in one. Its state lives as long as the run; it ends when its stdin does.
import json
import re
import sys

sys.stdin.reconfigure(encoding="utf-8")
asked = set()


def answer(call, **word):
    print(json.dumps({"id": call["id"], **word}), flush=True)


for line in sys.stdin:
    call = json.loads(line)
    command = call["envelope"].get("tool_command", "")
    if re.search(r"\brm\b|-delete\b", command):
        answer(call, block="deleting files is not allowed in this project")
    elif command in asked:
        answer(call, answer={"hookSpecificOutput": {"additionalContext": "you ran this before"}})
    else:
        answer(call)
    asked.add(command)
