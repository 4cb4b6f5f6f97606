/// What becomes of one thing when the migrations run.
package enum AdoptionDecision: Sendable, Equatable, Codable {
    /// It is made.
    case create
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

    /// Why, where something is kept, left off or refused.
    package var reason: String? {
        switch self {
        case .create, .replace: nil
        case .keep(let reason), .leaveOff(let reason), .refuse(let reason): reason
        }
    }

    /// This decision, or a refusal where something of the name is there that it would make.
    func refused(where isTaken: Bool, for name: String) -> AdoptionDecision {
        switch self {
        case .create, .replace: isTaken ? .refuse("\(name) is there already: rename or drop it") : self
        case .keep, .leaveOff, .refuse: self
        }
    }
}
