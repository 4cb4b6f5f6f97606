import ArgumentParser

/// The completion script of fish: the parser's own, with a function that first rewrites the words into the form it
/// knows.
enum FishCompletion {
    static func script(of root: any ParsableCommand.Type) -> String {
        let own = root.completionScript(for: .fish)
        let names = CompletionNames(of: root)
        // The parser's script reads the words only through this function.
        guard own.contains("function __\(names.program)_tokens\n") else { return own }
        return own + (own.hasSuffix("\n") ? "" : "\n") + wrapper(names)
    }

    private static func wrapper(_ names: CompletionNames) -> String {
        let name = names.program
        let (typed, known) = ("__\(name)_typed_tokens", "__\(name)_known_tokens")
        return """

            functions --query \(typed); and functions --erase \(typed)
            functions --copy __\(name)_tokens \(typed)

            function __\(name)_tokens
                if not contains -- -pc $argv
                    \(typed) $argv
                    return
                end
                # Asked for every condition of the same line.
                set -l line (commandline -cp | string collect)
                if not set -q \(known); or test "$line" != "$__\(name)_line"
                    set -g __\(name)_line $line
                    set -g \(known) (\(known) (\(typed) $argv))
                end
                printf '%s\\n' $\(known)
            end

            function \(known)
                set -l count (count $argv)
                set -l at 2
                while test $at -le $count; and string match -qr -- '^--.' $argv[$at]
                    set -l next (math $at + 1)
                    switch $argv[$at]
                        case \(names.valued.joined(separator: " "))
                            set at $next
                        case \(names.fields.joined(separator: " "))
                            if test $at -lt $count; and not string match -q -- '-*' $argv[$next]; and not contains -- $argv[$next] \(names.commands.joined(separator: " "))
                                set at $next
                            end
                    end
                    set at (math $at + 1)
                end
                set -l rest
                if test $at -gt (math $count + 1); or begin; test $at -gt $count; and string match -q -- '-*' (commandline -ct); end
                    # An option of every command, or its value.
                    set rest \(names.plain) $argv[2..]
                else if test $at -le $count
                    set -l before
                    for token in $argv[$at..]
                        switch "$before$token"
            \(names.aliases.map { "                case '\($0)'\n                    set token \($1)" }.joined(separator: "\n"))
                        end
                        set -a rest $token
                        set before "$before$token "
                    end
                end
                printf '%s\\n' $argv[1] $rest
            end

            """
    }
}
