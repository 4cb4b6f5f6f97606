import ArgumentParser

/// The completion script of bash: the parser's own, called by a wrapper that rewrites the words into the form it knows.
enum BashCompletion {
    static func script(of root: any ParsableCommand.Type) -> String {
        let own = root.completionScript(for: .bash)
        return own + (own.hasSuffix("\n") ? "" : "\n") + wrapper(CompletionNames(of: root))
    }

    private static func wrapper(_ names: CompletionNames) -> String {
        let name = names.program
        return """

            _\(name)_words() {
                local -i at=1
                local before next
                while ((at < COMP_CWORD)) && [[ "${COMP_WORDS[at]}" == --?* ]]; do
                    next="${COMP_WORDS[at + 1]}"
                    if [[ "${next}" == "=" ]]; then
                        at+=3
                        continue
                    fi
                    case "${COMP_WORDS[at]}" in
                    \(names.valued.joined(separator: " | "))) at+=1 ;;
                    \(names.fields.joined(separator: " | ")))
                        if ((at + 1 < COMP_CWORD)) && [[ "${next}" != -* && " \(names.commands.joined(separator: " ")) " != *" ${next} "* ]]; then at+=1; fi
                        ;;
                    esac
                    at+=1
                done
                if ((at > COMP_CWORD)) || [[ "${2}" == -* && "${at}" -eq "${COMP_CWORD}" ]]; then
                    # An option of every command, or its value.
                    COMP_WORDS=("${COMP_WORDS[0]}" \(names.plain) "${COMP_WORDS[@]:1}")
                    ((COMP_CWORD += 2))
                else
                    COMP_WORDS=("${COMP_WORDS[0]}" "${COMP_WORDS[@]:at}")
                    ((COMP_CWORD -= at - 1))
                    for ((at = 1; at < COMP_CWORD; at++)); do
                        case "${before}${COMP_WORDS[at]}" in
            \(names.aliases.map { "            \"\($0)\") COMP_WORDS[at]=\($1) ;;" }.joined(separator: "\n"))
                        esac
                        before+="${COMP_WORDS[at]} "
                    done
                fi
                _\(name) "${@}"
            }
            complete -o filenames -F _\(name)_words \(name)

            """
    }
}
