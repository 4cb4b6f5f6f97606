import Foundation
import TestSupport
import Testing

@Suite("Completion in real shells", .timeLimit(.minutes(5)))
struct CompletionTests {
    /// The completions that bash offers for each of the lines, with the cursor at its end.
    ///
    /// One shell completes them all, as a user's does; the script takes a debug build long to write.
    private func bash(_ lines: [String]) async throws -> [[String]] {
        let folder = URL(fileURLWithPath: AccountctlProcess.path).deletingLastPathComponent().path
        let script = """
            PATH="$1:$PATH"
            shift
            source <(accountctl completion bash)
            completer=$(complete -p accountctl)
            completer=${completer#* -F }
            completer=${completer%% *}
            for line in "$@"; do
                COMP_LINE="$line"
                COMP_POINT=${#line}
                read -ra COMP_WORDS <<<"$line"
                [[ "$line" == *" " ]] && COMP_WORDS+=("")
                COMP_CWORD=$((${#COMP_WORDS[@]} - 1))
                COMPREPLY=()
                "$completer" accountctl "${COMP_WORDS[COMP_CWORD]}" "${COMP_WORDS[COMP_CWORD - 1]}"
                printf '%s\\n' LINE "${COMPREPLY[@]}"
            done
            """
        let output = try await TestCluster.command(["bash", "-c", script, "bash", folder] + lines)
        return output.split(whereSeparator: \.isNewline).reduce(into: []) { offers, line in
            let word = line.trimmingCharacters(in: .whitespaces)
            if word == "LINE" {
                offers.append([])
            } else if !word.isEmpty, !offers.isEmpty {
                offers[offers.count - 1].append(word)
            }
        }
    }

    @Test("Commands, options and values are offered in bash")
    func offers() async throws {
        let expected: [(line: String, words: [String])] = [
            ("accountctl us", ["user"]), ("accountctl relay b", ["bounce"]), ("accountctl relay str", ["stream"]),
            ("accountctl config show --env", ["--environment"]), ("accountctl config show --format nd", ["ndjson"]),
            ("accountctl completion z", ["zsh"]), ("accountctl users wat", ["watch"]),
            ("accountctl apple credential li", ["list"]), ("accountctl --environment staging us", ["user"]),
            ("accountctl --json user wat", ["watch"]), ("accountctl --json id,state user wat", ["watch"]),
            ("accountctl --config a.conf deletions rehe", ["rehearse"]), ("accountctl --envi", ["--environment"]),
            ("accountctl --no-color --format nd", ["ndjson"]), ("accountctl migrate pl", ["plan"]),
            ("accountctl apple transfer pl", []),
            ("accountctl user list --deletion-state wai", ["waiting_for_apple"]),
            ("accountctl deletion list --apple not_r", ["not_revoked"]),
            ("accountctl apple events list --outcome wai", ["waiting"]),
            ("accountctl deletion request --file /etc/host.con", ["/etc/host.conf"]),
            ("accountctl user export --output /etc/host.con", ["/etc/host.conf"]),
            ("accountctl deletion replay /etc/host.con", ["/etc/host.conf"]),
            ("accountctl --config /etc/host.con", ["/etc/host.conf"]),
            ("accountctl nothing-like-this", []),
        ]
        let offered = try await bash(expected.map(\.line) + ["accountctl relay "])
        #expect(offered.count == expected.count + 1)
        for (one, offers) in zip(expected, offered) { #expect(offers == one.words, "\(one.line)") }
        // All commands of a group.
        for name in ["check", "stream", "addresses", "can-send", "spf", "bounce"] {
            #expect(offered.last?.contains(name) == true, "\(name)")
        }
    }

    /// Lines that the parser's own completion scripts do not handle, and some that they do.
    private static let lines: [(line: String, expected: String)] = [
        ("accountctl relay str", "stream"), ("accountctl config show --format nd", "ndjson"),
        ("accountctl users wat", "watch"), ("accountctl apple credential li", "list"),
        ("accountctl --environment staging us", "user"), ("accountctl --environment=staging us", "user"),
        ("accountctl --json users wat", "watch"), ("accountctl --json id,state user wat", "watch"),
        ("accountctl --config a.conf deletions rehe", "rehearse"), ("accountctl --envi", "--environment"),
        ("accountctl --no-color --format nd", "ndjson"), ("accountctl --config /etc/host.con", "host.conf"),
        ("accountctl deletion request --file /etc/host.con", "host.conf"),
    ]

    /// Whether a shell is installed: the tests require only bash.
    private static func isThere(_ shell: String) -> Bool {
        ["/usr/bin/", "/bin/", "/usr/local/bin/", "/opt/homebrew/bin/"].contains {
            FileManager.default.isExecutableFile(atPath: $0 + shell)
        }
    }

    @Test("zsh offers the same completions interactively", .enabled(if: isThere("zsh"), "zsh is not installed"))
    func zsh() async throws {
        // Runs a shell on a pseudo-terminal that prints each match it would offer; a bound key then marks the end.
        let script = #"""
            zmodload zsh/zpty
            zpty offers zsh -f -i
            zpty -w offers "PATH=${(q)1}:\$PATH; PS1=; autoload -Uz compinit; compinit -u -D; source <(accountctl completion zsh)"
            zpty -w offers 'compadd() {
                local -a hits
                if [[ ${@[1,(i)(-|--)]} != *-(O|A|D)\ * ]]; then
                    builtin compadd -A hits "$@"
                    (( $#hits )) && print -r -- "OFFER:"${^hits}
                fi
                builtin compadd "$@"
            }
            told() { print -r -- "OFFERS-END"; exit }
            zle -N told; bindkey "^X" told; bindkey "^I" complete-word; print -r -- SET"-UP"'
            zpty -r -m offers text '*SET-UP*'
            zpty -w -n offers "$2"$'\t\x18'
            zpty -r -m offers text '*OFFERS-END*'
            print -r -- "$text"
            """#
        let folder = URL(fileURLWithPath: AccountctlProcess.path).deletingLastPathComponent().path
        for (line, expected) in Self.lines {
            let text = try await TestCluster.command(["zsh", "-f", "-c", script, "zsh", folder, line])
            let offered = Set(text.matches(of: /OFFER:(\S+)/).map { String($0.1) })
            #expect(offered == [expected], "\(line)")
        }
    }

    @Test("fish offers the same completions", .enabled(if: isThere("fish"), "fish is not installed"))
    func fish() async throws {
        // The script is sourced twice, as after a change to it.
        let script = """
            set -p PATH $argv[1]
            accountctl completion fish | source
            accountctl completion fish | source
            for line in $argv[2..]
                echo "LINE"(complete -C $line)
            end
            """
        let folder = URL(fileURLWithPath: AccountctlProcess.path).deletingLastPathComponent().path
        let words = ["fish", "--no-config", "-c", script, folder] + Self.lines.map(\.line)
        let told = try await TestCluster.command(words).split(separator: "\n").map { answer in
            // Each line is a completion, a tab and a description.
            String(answer.dropFirst(4).prefix { $0 != "\t" }).replacingOccurrences(of: "/etc/", with: "")
        }
        #expect(told == Self.lines.map(\.expected))
    }

    @Test("The scripts of the other shells name every command")
    func scripts() async throws {
        for shell in ["zsh", "fish"] {
            let result = try await AccountctlProcess.run("completion", shell)
            #expect(result.status == 0)
            for name in ["can-send", "rehearse", "--database-url"] {
                #expect(result.output.contains(shell == "fish" ? name.replacingOccurrences(of: "--", with: "") : name))
            }
        }
    }
}
