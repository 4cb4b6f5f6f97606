/// The decisions of the migrations on each object that this database may already have.
///
/// A pure value, computed from ``AdoptionFacts``. When the migrations run, they make the same decisions from the same
/// catalogs and leave one row per item in `accountctl.adoption_notes`.
package struct AdoptionPlan: Sendable, Equatable, Codable {
    /// One object that may already exist, and the decision on it.
    package struct Item: Sendable, Equatable, Codable {
        /// The item's name in `adoption_notes`, such as `profiles.policy.insert`.
        package let name: String

        /// The number of the migration that decides it.
        package let migration: Int

        /// The database object that is created, replaced or left.
        package let object: String

        /// The decision.
        package let decision: AdoptionDecision

        /// The locks that the change takes on existing tables.
        package let locks: [TableLock]
    }

    /// The items in the order of the migrations.
    package let items: [Item]

    /// The items that stop the migrations before anything is changed.
    package var refusals: [Item] { items.filter(\.decision.isRefusal) }

    /// Decides what the profiles bundle will do, and whether the core bundle can be installed.
    ///
    /// - Parameters:
    ///   - facts: the state of the database.
    ///   - visibility: the visibility that was requested, or nil.
    package init(facts: AdoptionFacts, visibility: ProfilesVisibility? = nil) {
        let origin = ProfilesOrigin(facts: facts)
        items =
            Self.functions(facts)
            + Self.profiles(facts, origin: origin, visibility: visibility)
            + Self.avatars(facts, visibility: visibility)
            + Self.usernames(facts, origin: origin)
            + Self.userKey(facts, origin: origin)
            + Self.names(facts, origin: origin)
    }
}
