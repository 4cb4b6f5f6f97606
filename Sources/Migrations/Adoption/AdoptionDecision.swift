/// The decision on one object when the migrations run.
package enum AdoptionDecision: Sendable, Equatable, Codable {
    /// The object is created.
    case create
    /// The text of the existing object is a published starter's, and ours replaces it.
    case replace
    /// The existing object stays as it is, for this reason.
    case keep(String)
    /// The object is not created, for this reason.
    case leaveOff(String)
    /// Nothing at all is changed, for this reason.
    case refuse(String)

    /// Whether the decision prevents every change.
    package var isRefusal: Bool { if case .refuse = self { true } else { false } }

    /// The reason for keeping, leaving off or refusing.
    package var reason: String? {
        switch self {
        case .create, .replace: nil
        case .keep(let reason), .leaveOff(let reason), .refuse(let reason): reason
        }
    }

    /// This decision, or a refusal if it would create an object under a name that is taken.
    func refused(where isTaken: Bool, for name: String) -> AdoptionDecision {
        switch self {
        case .create, .replace: isTaken ? .refuse("\(name) exists already: rename or drop it") : self
        case .keep, .leaveOff, .refuse: self
        }
    }
}
