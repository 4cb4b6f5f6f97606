import Foundation
import TestSupport
import Testing

@Suite("Completion, in the real shell", .timeLimit(.minutes(3)))
struct CompletionTests {
    /// What bash offers for a line that ends where the cursor is.
    private func bash(_ line: String) async throws -> [String] {
        let folder = URL(fileURLWithPath: AccountctlProcess.path).deletingLastPathComponent().path
        let script = """
            PATH="$1:$PATH"
            source <(accountctl completion bash)
            line="$2"
            COMP_LINE="$line"
            COMP_POINT=${#line}
            read -ra COMP_WORDS <<<"$line"
            [[ "$line" == *" " ]] && COMP_WORDS+=("")
            COMP_CWORD=$((${#COMP_WORDS[@]} - 1))
            set -- $(complete -p accountctl)
            while [ $# -gt 0 ] && [ "$1" != -F ]; do shift; done
            "$2" accountctl "${COMP_WORDS[COMP_CWORD]}" "${COMP_WORDS[COMP_CWORD - 1]}"
            printf '%s\\n' "${COMPREPLY[@]}"
            """
        let output = try await TestCluster.command(["bash", "-c", script, "bash", folder, line])
        return output.split(whereSeparator: \.isNewline).map { $0.trimmingCharacters(in: .whitespaces) }
    }

    @Test(
        "Commands, options and values are offered in bash",
        arguments: [
            ("accountctl us", ["user"]), ("accountctl relay b", ["bounce"]), ("accountctl relay str", ["stream"]),
            ("accountctl config show --env", ["--environment"]), ("accountctl config show --format nd", ["ndjson"]),
            ("accountctl completion z", ["zsh"]), ("accountctl users wat", ["watch"]),
            ("accountctl apple credential li", ["list"]), ("accountctl --environment staging us", ["user"]),
            ("accountctl --json user wat", ["watch"]), ("accountctl --json id,state user wat", ["watch"]),
            ("accountctl --config a.conf deletions rehe", ["rehearse"]), ("accountctl --envi", ["--environment"]),
            ("accountctl --no-color --format nd", ["ndjson"]), ("accountctl migrate pl", ["plan"]),
            ("accountctl apple transfer pl", []),
            ("accountctl deletion request --file /etc/host.con", ["/etc/host.conf"]),
            ("accountctl user export --output /etc/host.con", ["/etc/host.conf"]),
            ("accountctl deletion replay /etc/host.con", ["/etc/host.conf"]),
            ("accountctl --config /etc/host.con", ["/etc/host.conf"]),
            ("accountctl nothing-like-this", []),
        ]
    )
    func offers(_ line: String, _ expected: [String]) async throws {
        #expect(try await bash(line).filter { !$0.isEmpty } == expected)
    }

    @Test("Every command of a group is offered")
    func group() async throws {
        let offered = try await bash("accountctl relay ")
        for name in ["check", "stream", "addresses", "can-send", "spf", "bounce"] { #expect(offered.contains(name)) }
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
