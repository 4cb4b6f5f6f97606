/// The effect on the referring rows when the referenced row is deleted.
extension ForeignKey {
    /// Whether the key changes a referring row when the referenced row is deleted.
    var mayChange: Bool { !goesAlong && (rule == .setNull || rule == .setDefault) }

    /// Whether the key refuses the delete of a referenced row.
    var mayRefuse: Bool {
        // Holds are checked separately, before each step.
        guard table != .holds, !goesAlong else { return false }
        return switch rule {
        case .cascade, .setDefault: false
        case .setNull: hasRequiredColumn
        case .noAction, .restrict: true
        }
    }
}
