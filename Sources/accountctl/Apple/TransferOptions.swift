import AccountLifecycle
import ArgumentParser

/// The options that select a transfer.
struct TransferOptions: ParsableArguments {
    @Argument(help: "The client id that moves to another team.")
    var clientID: String

    @Option(name: .long, help: ArgumentHelp("The team id of the recipient.", valueName: "team"))
    var team: String

    mutating func validate() throws {
        guard team.utf8.count == 10, team.allSatisfy({ $0.isASCII && ($0.isLetter || $0.isNumber) }) else {
            throw ValidationError("--team must be the recipient's team id, ten letters and digits")
        }
    }

    var transfer: TeamTransfer { TeamTransfer(clientID: clientID, targetTeam: team) }

    /// The facts of a step that the operators' log keeps.
    func facts(accounts: Int) -> [String: String] {
        ["client_id": clientID, "team": team, "accounts": "\(accounts)"]
    }
}

/// The options of every step that changes the records of a transfer.
struct TransferStepOptions: ParsableArguments {
    @OptionGroup
    var options: TransferOptions

    @OptionGroup
    var acting: ActingOptions

    @OptionGroup
    var write: WriteOptions
}

/// The options for the rate of requests to Apple, and the users to ask about.
struct TransferRateOptions: ParsableArguments {
    /// Explains in the help when a refusal by Apple is recorded.
    static let aboutRefusals = """
        Apple gives the same answer about a person who revoked as it gives about everybody when the request is wrong. So \
        refusals are recorded only if Apple identifies somebody in the run: a new person, one who was identified before, \
        or the one whose credential was seen alive most recently. If Apple identifies none of these, or refuses many in \
        a row, the run stops and records nothing about them, unless --retry-refused is given.
        """

    @Option(
        name: .long,
        help: ArgumentHelp("How many calls to Apple a second at most, from 0.1 to 200.", valueName: "calls")
    )
    var rate = 10.0

    @Flag(
        name: .long,
        help: "Ask again about users whom Apple refused before; refusals are recorded even if Apple identifies nobody."
    )
    var retryRefused = false

    mutating func validate() throws {
        if !(0.1...200).contains(rate) { throw ValidationError("--rate must be from 0.1 to 200") }
    }
}
