import ArgumentParser

/// Groups the commands about mail to Apple's private relay.
struct RelayCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "relay",
        abstract: "Watch whether mail reaches Apple's private relay.",
        discussion: """
            Apple's relay accepts mail from registered senders that pass SPF or DKIM. A mail stream describes who your
            mail is from, who sends it and who signs it. Its check says whether the relay will accept it, and what to
            publish if not.

            EXAMPLES
              accountctl relay check example.com --envelope send.example.com --include _spf.esp.example --selector s1
              accountctl relay stream add news example.com --envelope send.example.com --include _spf.esp.example --selector s1
              accountctl relay can-send --stream news --user abc123@privaterelay.appleid.com
              accountctl relay spf --ip 192.0.2.25 --from bounce@send.example.com --helo out.esp.example
              accountctl relay bounce explain '550 5.1.1 <bounce@send.example.com>: unauthorized sender'
            """,
        subcommands: [
            RelayCheckCommand.self, RelayStreamCommand.self, RelayAddressesCommand.self, RelayCanSendCommand.self,
            RelaySPFCommand.self, RelayBounceCommand.self,
        ]
    )
}
