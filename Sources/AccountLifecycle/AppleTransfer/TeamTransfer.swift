#if canImport(FoundationEssentials)
    package import FoundationEssentials
#else
    package import Foundation
#endif

/// A team transfer: which app goes to which team.
package struct TeamTransfer: Sendable, Hashable {
    /// The client id, the same on both sides.
    let clientID: String
    /// The team id of the recipient.
    let targetTeam: String

    /// Names a transfer.
    package init(clientID: String, targetTeam: String) {
        self.clientID = clientID
        self.targetTeam = targetTeam
    }

    /// How far a transfer is, in accounts.
    package struct Status: Codable, Sendable, Hashable {
        /// Accounts with an Apple identity that have no transfer identifier yet.
        ///
        /// Who came between the transfer and its first exchange is among them: nothing tells those from the former
        /// team's.
        package var waiting = 0
        /// Accounts that have none and need none: their Apple identity came with the recipient, or after it.
        package var newcomers = 0
        /// Devices have seen that the identity is to move, of whatever app; each goes when it is applied.
        package var seen = 0
        /// Have a transfer identifier.
        package var generated = 0
        /// The recipient knows who they are.
        package var exchanged = 0
        /// Their identity here is the new one.
        package var applied = 0
        /// Apple cannot move them, usually for having revoked.
        package var refused = 0
        /// The new sub or address has an account of its own already, or nobody knows which of several Apple identities
        /// is to move; a person must decide.
        package var conflict = 0

        /// Whether nothing was ever recorded of the transfer: none has begun, or the team is another.
        package var isUnknown: Bool { generated + exchanged + applied + refused + conflict == 0 }
    }

    /// What a run did, and why it ended.
    package struct Run: Codable, Sendable, Hashable {
        /// Done.
        package var done = 0
        /// Recorded as refused and skipped.
        package var refused = 0
        /// Refused, with nobody to show that the request is right: nothing is recorded of them, and the run stopped.
        package var doubted = 0
        /// Recorded as conflicts and skipped.
        package var conflicts = 0
        /// What stopped the run before its end; nil when there is nothing left to do.
        package var stoppedBy: String?
    }

    /// A line of the file that goes from the sending team to the recipient.
    ///
    /// Old subs and addresses are not for the recipient.
    package struct Line: Codable, Sendable, Hashable {
        /// The account's id.
        package let user: UUID
        /// What Apple calls the user on the way.
        package let transferIdentifier: String

        /// A line.
        init(user: UUID, transferIdentifier: String) {
            self.user = user
            self.transferIdentifier = transferIdentifier
        }

        private enum CodingKeys: String, CodingKey {
            case user = "user_id"
            case transferIdentifier = "transfer_sub"
        }
    }
}
