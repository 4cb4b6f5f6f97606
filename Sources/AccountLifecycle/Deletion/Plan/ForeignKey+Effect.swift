/// What becomes of the rows that refer, when the row they refer to is deleted.
extension ForeignKey {
    /// Whether it changes a row when the one that it refers to is deleted.
    var mayChange: Bool { !goesAlong && (rule == .setNull || rule == .setDefault) }

    /// Whether it refuses the delete of a row that it refers to.
    var mayRefuse: Bool {
        // A hold is looked at by itself, before each step.
        guard table != .holds, !goesAlong else { return false }
        return switch rule {
        case .cascade, .setDefault: false
        case .setNull: hasRequiredColumn
        case .noAction, .restrict: true
        }
    }
}
