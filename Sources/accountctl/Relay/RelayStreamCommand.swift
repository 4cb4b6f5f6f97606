import ArgumentParser

/// Groups the commands about the mail streams that are watched.
struct RelayStreamCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "stream",
        abstract: "Declare and show the mail streams that are watched.",
        discussion: """
            Workers check each stream: hourly after a change or if in doubt, daily if it is stable. A change is reported
            when two checks agree on it. A check that DNS did not answer changes nothing.

            EXAMPLES
              accountctl relay stream add news example.com --envelope send.example.com --include _spf.esp.example --selector s1
              accountctl relay stream list
              accountctl relay stream show news
            """,
        subcommands: [
            RelayStreamAddCommand.self, RelayStreamListCommand.self, RelayStreamShowCommand.self,
            RelayStreamRemoveCommand.self,
        ]
    )
}
