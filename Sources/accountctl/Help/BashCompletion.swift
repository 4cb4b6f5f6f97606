import ArgumentParser

/// The completion script of bash: the parser's own, which is asked about the words as it knows them.
///
/// It knows nothing of options before the command, nor of aliases.
enum BashCompletion {
    static func script(of root: any ParsableCommand.Type) -> String {
        let name = root._commandName
        let own = root.completionScript(for: .bash)
        return own + (own.hasSuffix("\n") ? "" : "\n") + wrapper(name, root)
    }

    private static func wrapper(_ name: String, _ root: any ParsableCommand.Type) -> String {
        let commands = root.configuration.subcommands.flatMap { $0.names }.joined(separator: " ")
        let valued = CommandWords.globalOptionsWithValue.sorted().joined(separator: " | ")
        let fields = GlobalOptions.fieldOptions.sorted().joined(separator: " | ")
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
                    \(valued)) at+=1 ;;
                    \(fields))
                        if ((at + 1 < COMP_CWORD)) && [[ "${next}" != -* && " \(commands) " != *" ${next} "* ]]; then at+=1; fi
                        ;;
                    esac
                    at+=1
                done
                if ((at > COMP_CWORD)) || [[ "${2}" == -* && "${at}" -eq "${COMP_CWORD}" ]]; then
                    # An option of every command, or its value.
                    COMP_WORDS=("${COMP_WORDS[0]}" config show "${COMP_WORDS[@]:1}")
                    ((COMP_CWORD += 2))
                else
                    COMP_WORDS=("${COMP_WORDS[0]}" "${COMP_WORDS[@]:at}")
                    ((COMP_CWORD -= at - 1))
                    for ((at = 1; at < COMP_CWORD; at++)); do
                        case "${before}${COMP_WORDS[at]}" in
            \(aliases(of: root, before: "").map { "            \"\($0)\") COMP_WORDS[at]=\($1) ;;" }.joined(separator: "\n"))
                        esac
                        before+="${COMP_WORDS[at]} "
                    done
                fi
                _\(name) "${@}"
            }
            complete -o filenames -F _\(name)_words \(name)

            """
    }

    /// Each alias with the commands before it, and what it stands for.
    private static func aliases(of command: any ParsableCommand.Type, before: String) -> [(typed: String, name: String)]
    {
        var found: [(typed: String, name: String)] = []
        for child in command.configuration.subcommands {
            let name = child._commandName
            for alias in child.configuration.aliases { found.append((before + alias, name)) }
            found += aliases(of: child, before: before + name + " ")
        }
        return found
    }
}
