/// What becomes of one thing when the migrations run.
package enum AdoptionDecision: Sendable, Equatable, Codable {
    /// It is made.
    case create
    /// It is made unless present rows break it, which the plan does not look at.
    case createUnless(String)
    /// It is a published starter's by its text, and ours takes its place.
    case replace
    /// It is there and stays as it is, for this reason.
    case keep(String)
    /// It is not made, for this reason.
    case leaveOff(String)
    /// Nothing is changed at all, for this reason.
    case refuse(String)

    /// Whether it keeps anything from being changed.
    package var isRefusal: Bool { if case .refuse = self { true } else { false } }

    /// The words that `adoption_notes` may have for it afterwards.
    package var outcomes: Set<String> {
        switch self {
        case .create: ["created"]
        case .createUnless: ["created", "left_off"]
        case .replace: ["replaced"]
        case .keep: ["kept"]
        case .leaveOff: ["left_off"]
        case .refuse: []
        }
    }

    /// Why, where something is kept, left off, refused or depends.
    package var reason: String? {
        switch self {
        case .create, .replace: nil
        case .createUnless(let reason), .keep(let reason), .leaveOff(let reason), .refuse(let reason): reason
        }
    }
}
