import ArgumentParser

/// The completion script of zsh: the parser's own, called by a wrapper that rewrites the words into the form it knows.
enum ZshCompletion {
    static func script(of root: any ParsableCommand.Type) -> String {
        let own = root.completionScript(for: .zsh)
        let names = CompletionNames(of: root)
        // The end of the parser's script runs its function, or registers it with the shell; the wrapper takes its
        // place.
        guard let end = own.firstRange(of: "if [[ \"${funcstack[1]}\" = _\(names.program) ]]") else { return own }
        return own[..<end.lowerBound] + wrapper(names) + own[end.lowerBound...]
    }

    private static func wrapper(_ names: CompletionNames) -> String {
        let name = names.program
        return """
            functions[__\(name)_own]="${functions[_\(name)]}"

            _\(name)() {
                emulate -L zsh
                local -i at=2
                local before next
                while (( at < CURRENT )) && [[ "${words[at]}" == --?* ]]; do
                    next="${words[at + 1]}"
                    case "${words[at]}" in
                    (\(names.valued.joined(separator: "|"))) (( at += 1 )) ;;
                    (\(names.fields.joined(separator: "|")))
                        if (( at + 1 < CURRENT )) && [[ "${next}" != -* && " \(names.commands.joined(separator: " ")) " != *" ${next} "* ]]; then
                            (( at += 1 ))
                        fi
                        ;;
                    esac
                    (( at += 1 ))
                done
                if [[ at -gt CURRENT || ( at -eq CURRENT && "${PREFIX}" == -* ) ]]; then
                    # An option of every command, or its value.
                    words=("${words[1]}" \(names.plain) "${(@)words[2,-1]}")
                    (( CURRENT += 2 ))
                else
                    words=("${words[1]}" "${(@)words[at,-1]}")
                    (( CURRENT -= at - 2 ))
                    for (( at = 2; at < CURRENT; at++ )); do
                        case "${before}${words[at]}" in
            \(names.aliases.map { "            (\"\($0)\") words[at]=\($1) ;;" }.joined(separator: "\n"))
                        esac
                        before+="${words[at]} "
                    done
                fi
                __\(name)_own "${@}"
            }


            """
    }
}
