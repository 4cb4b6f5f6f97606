/// An account that is not there.
enum AbsentAccount {
    /// What stands in place of its state: that it was erased, or is not found, or that nothing can tell which.
    static func word(isErased: Bool, isUnknown: Bool) -> String {
        isErased ? "erased" : isUnknown ? "unknown" : "not_found"
    }
}
