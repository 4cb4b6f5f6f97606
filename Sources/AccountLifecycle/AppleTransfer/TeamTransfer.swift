#if canImport(FoundationEssentials)
    package import FoundationEssentials
#else
    package import Foundation
#endif

/// A team transfer: which app moves to which team.
package struct TeamTransfer: Sendable, Hashable {
    /// The client id, the same on both sides.
    let clientID: String
    /// The team id of the recipient.
    let targetTeam: String

    /// Creates the name of a transfer.
    package init(clientID: String, targetTeam: String) {
        self.clientID = clientID
        self.targetTeam = targetTeam
    }

    /// The progress of a transfer, in accounts.
    package struct Status: Sendable, Hashable {
        /// Accounts with an Apple identity that have no transfer identifier yet.
        ///
        /// This includes accounts created between the transfer and its first exchange, since nothing distinguishes them
        /// from the former team's.
        package var waiting = 0
        /// Accounts without one that need none: their Apple identity was created by the recipient, or after the
        /// transfer.
        package var newcomers = 0
        /// Accounts whose device reported a move to another team, of whatever app; applying the move removes them.
        package var seen = 0
        /// Accounts with a transfer identifier.
        package var generated = 0
        /// Accounts whose user the recipient knows.
        package var exchanged = 0
        /// Accounts that have their new identity here.
        package var applied = 0
        /// Accounts that Apple cannot move, usually because they have revoked.
        package var refused = 0
        /// Those of them that have a transfer identifier: Apple refused them to the recipient.
        package var refusedToRecipient = 0
        /// Accounts that need a person's decision: another account has the new sub or address, or it is unknown which
        /// of several Apple identities to move.
        package var conflict = 0

        /// Whether nothing is recorded of the transfer: it has not begun, or it goes to another team.
        package var isUnknown: Bool { generated + exchanged + applied + refused + conflict == 0 }
    }

    /// The results of a run, and why it ended.
    package struct Run: Sendable, Hashable {
        /// Done.
        package var done = 0
        /// Recorded as refused and skipped.
        package var refused = 0
        /// Refused, while no witness showed that the request is right: nothing was recorded of them, and the run
        /// stopped.
        package var doubted = 0
        /// Recorded as conflicts and skipped.
        package var conflicts = 0
        /// What stopped the run early; nil if there is nothing left to do.
        package var stoppedBy: String?
    }

    /// A line of the file that the sending team gives to the recipient.
    ///
    /// It holds no old subs and addresses, which are not meant for the recipient.
    package struct Line: Decodable, Sendable, Hashable {
        /// The account's id.
        package let user: UUID
        /// Apple's identifier for the user during the transfer.
        package let transferIdentifier: String

        private enum CodingKeys: String, CodingKey {
            case user = "user_id"
            case transferIdentifier = "transfer_sub"
        }
    }
}
