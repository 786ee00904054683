# What the hooks run that "unturn init" installs: NODE ENTRY hook AGENT EVENT, the payload on standard input.
# To start Node takes longer than all the rest, so an event goes to the attendant without it, where there is one:
# the payload as a file, a line that says so through one pipe, and the answer back through another.
# Without an attendant, or without its answer, Node does it. Bash, for reading with a limit in time.

node=$1 entry=$2
shift 2

case $OSTYPE in
  darwin*) data="$HOME/Library/Application Support" ;;
  *) case $XDG_DATA_HOME in /*) data=$XDG_DATA_HOME ;; *) data=$HOME/.local/share ;; esac ;;
esac
desk=${UNTURN_HOME:-$data/unturn}/agents

if [ "$UNTURN_HOOK_BACKGROUND" = 0 ] || [ -t 0 ] || [ ! -p "$desk/hook.in" ] ||
  ! read -r attendant 2> /dev/null < "$desk/hook.pid" || ! kill -0 "$attendant" 2> /dev/null; then
  exec "$node" "$entry" "$@"
fi

umask 077
call=$desk/calls/$$-$RANDOM
if ! cat 2> /dev/null > "$call.json"; then
  exit 0 # a full disk, for instance: the payload is gone, and there is nobody to tell
fi
printf '%s\0' "$node" "$entry" "$2" "$3" "$PPID" "$PWD" "$CLAUDE_CODE_SESSION_ID" "$CLAUDE_PROJECT_DIR" \
  "$CLAUDE_PID" "$GEMINI_SESSION_ID" "$GEMINI_PROJECT_DIR" 2> /dev/null > "$call.call"

case $3 in SessionEnd | Interrupt) patience=2 ;; *) patience=4 ;; esac
case $UNTURN_HOOK_BUDGET_MS in '' | *[!0-9]*) ;; *) patience=$(((UNTURN_HOOK_BUDGET_MS + 999) / 1000)) ;; esac
if mkfifo "$call.out" 2> /dev/null && exec 3<> "$desk/hook.in" 4<> "$call.out"; then
  echo "${call##*/}" >&3
  if IFS= read -r -t $patience answer <&4; then
    case $answer in
      ok*)
        [ "$answer" = ok ] || printf '%s\n' "${answer#ok }"
        exit 0
        ;;
    esac
  else
    # It has the event, and will record it; or it has died, and whoever comes next records it.
    kill -0 "$attendant" 2> /dev/null || rm -f "$desk/hook.pid"
    exit 0
  fi
fi 2> /dev/null
# Taken out first: what is left in there is recorded by whoever looks next, and this would be recorded twice.
exec < "$call.json"
rm -f "$call".*
exec "$node" "$entry" "$@"
