/// Somebody with an Apple Account, and what each team knows them by.
struct ApplePerson: Sendable {
    let id: Int
    /// The true address; nil for managed accounts that have none.
    let email: String?
    /// Whether teams get a relay address instead of the true one.
    let hidesEmail: Bool
    var isDeleted = false
    /// The `sub` by team: stable, whatever is revoked.
    var subjects: [String: String] = [:]
    /// The relay address by team.
    var relayAddresses: [String: String] = [:]

    /// The address a team gets to see.
    func visibleEmail(for teamID: String) -> String? {
        hidesEmail ? relayAddresses[teamID] : email
    }
}
