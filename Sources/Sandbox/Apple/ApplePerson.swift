/// A person with an Apple Account, and the identifiers that each team knows.
struct ApplePerson: Sendable {
    let id: Int
    /// The true address; nil for managed accounts without one.
    let email: String?
    /// Whether teams get a relay address in place of the true one.
    let hidesEmail: Bool
    var isDeleted = false
    /// The `sub` by team, which stays the same even after a revocation.
    var subjects: [String: String] = [:]
    /// The relay address by team.
    var relayAddresses: [String: String] = [:]

    /// The address that is visible to a team.
    func visibleEmail(for teamID: String) -> String? {
        hidesEmail ? relayAddresses[teamID] : email
    }
}
