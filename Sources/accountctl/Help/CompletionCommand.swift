import ArgumentParser
import Terminal

/// Prints the script that completes command lines.
struct CompletionCommand: AccountctlCommand {
    static let configuration = CommandConfiguration(
        commandName: "completion",
        abstract: "Print the completion script of a shell.",
        discussion: """
            Commands are also completed after aliases and after options that stand before them.

            EXAMPLES
              accountctl completion bash > /etc/bash_completion.d/accountctl
              accountctl completion zsh > "${fpath[1]}/_accountctl"
              accountctl completion fish > ~/.config/fish/completions/accountctl.fish
            """
    )

    enum Shell: String, CaseIterable, ExpressibleByArgument {
        case bash, zsh, fish
    }

    @Argument(help: "bash, zsh or fish.")
    var shell: Shell

    @OptionGroup
    var global: GlobalOptions

    func run(in context: CommandContext) async throws -> ExitStatus {
        let script =
            switch shell {
            case .bash: BashCompletion.script(of: Accountctl.self)
            case .zsh: ZshCompletion.script(of: Accountctl.self)
            case .fish: FishCompletion.script(of: Accountctl.self)
            }
        try context.output.document(script)
        return .ok
    }
}
