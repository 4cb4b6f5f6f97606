/// What the migrations will do with each thing that this database may already have.
///
/// A pure value, computed from ``AdoptionFacts``; the migrations decide the same from the same catalogs when they run,
/// and leave one row per item in `accountctl.adoption_notes`.
package struct AdoptionPlan: Sendable, Equatable, Codable {
    /// One thing that may be there already, and what becomes of it.
    package struct Item: Sendable, Equatable, Codable {
        /// What it is about, such as `profiles.policy.insert`; the name that `adoption_notes` uses.
        package let name: String

        /// The number of the migration that decides it.
        package let migration: Int

        /// The database object that is made, replaced or left.
        package let object: String

        /// What becomes of it.
        package let decision: AdoptionDecision

        /// The locks that doing so takes on tables that are there already.
        package let locks: [TableLock]
    }

    /// The items in the order in which the migrations come to them.
    package let items: [Item]

    /// What stops the migrations before anything is changed.
    package var refusals: [Item] { items.filter(\.decision.isRefusal) }

    /// Decides what the profiles bundle will do, and whether the core bundle can be installed.
    ///
    /// - Parameters:
    ///   - facts: what the database has.
    ///   - visibility: what was asked for by `visibility`, nil for nothing.
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
