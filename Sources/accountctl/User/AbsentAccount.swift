/// An account that does not exist, or no longer exists.
enum AbsentAccount {
    /// The word shown instead of a state: the account was erased, was not found, or either may be true.
    static func word(isErased: Bool, isUnknown: Bool) -> String {
        isErased ? "erased" : isUnknown ? "unknown" : "not_found"
    }
}
