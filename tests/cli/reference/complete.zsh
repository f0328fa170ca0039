#!/usr/bin/env zsh
# Prints what zsh offers for a command line, one candidate a line:
#
#   zsh -f complete.zsh FOLDER LINE        FOLDER has the file _hocket
#
# Completion needs an interactive shell with a terminal, which zsh/zpty provides. Each step waits
# for what the shell prints, so nothing depends on time.
zmodload zsh/zpty
zpty shell zsh -f -i
drain() { local line; while zpty -r shell line; do [[ $line == *"$1"* ]] && break; done }
zpty -w shell "PROMPT= fpath=($1 \$fpath); autoload -U compinit; compinit -u -D; stty -echo"
zpty -w shell '
compadd() {
  if [[ ${@[1,(i)(-|--)]} == *-(O|A|D)\ * ]]; then
    builtin compadd "$@"
    return
  fi
  typeset -a __candidates
  builtin compadd -A __candidates "$@"
  (( $#__candidates )) && print && print -l -- "<"${^__candidates}">"
  builtin compadd "$@"
}
zstyle ":completion:*" list-grouped false
zstyle ":completion:*" insert-tab false
complete-and-end() {
  compprefuncs=() comppostfuncs=()
  zle complete-word
  print "<end>"
  exit
}
zle -N complete-and-end
bindkey "^I" complete-and-end
print re""ady'
drain ready
zpty -n -w shell "$2"$'\t'
local line
while zpty -r shell line; do
  line=${line%%$'\r'*}
  [[ $line == '<end>'* ]] && break
  [[ $line == '<'*'>' ]] && print -r -- "${${line#<}%>}"
done
zpty -d shell
