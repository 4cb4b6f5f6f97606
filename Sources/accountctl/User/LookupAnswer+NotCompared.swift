import AccountLifecycle

extension LookupAnswer.NotCompared {
    /// A few words to follow the name of the kind.
    var words: String {
        switch self {
        case .wholeErasedIDs: "erased accounts: whole ids only"
        case .hexadecimalDigits(let least): "from \(least) hexadecimal digits on"
        case .digits(let least): "from \(least) digits on"
        case .blanks: "has no blanks"
        case .unlessNamed: "only with --by"
        case .noUsernames: "no public.profiles with usernames"
        case .noIndex: "no index on them"
        case .wholeNumbers: "whole numbers only"
        }
    }
}
