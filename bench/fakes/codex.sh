// agent-bridle testkit: a fake provider
# A codex for the bench; fakes.mjs puts a first line before it. Reads its prompt from stdin, whole, and does what it orders: `print=FILE` prints
# that file, `wait=` says nothing more; anything else is answered at once. Takes any arguments. The line above is an error to the shell: no matter.
PATH=/usr/bin:/bin
if [ "$1" = --version ]; then
  echo 'codex-cli 0.171.0+fake'
  exit 0
fi
line=$(cat)
printf '%s\n' '{"type":"thread.started","thread_id":"t"}' '{"type":"turn.started"}'
case $line in
  *wait=*) exec sleep 1000 ;;
  *print=*)
    value=${line#*print=}
    cat "${value%%[ \"]*}"
    ;;
esac
printf '%s\n' '{"type":"item.completed","item":{"id":"last","type":"agent_message","text":"done"}}' \
  '{"type":"turn.completed","usage":{"input_tokens":1,"cached_input_tokens":0,"output_tokens":1}}'
