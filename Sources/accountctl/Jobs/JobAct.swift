/// What came of an act on one job, in words; what forbids it is thrown.
enum JobAct: Sendable {
    /// It was done, or would have been.
    case done(String, would: String)
    /// It was so already.
    case unchanged(String)
}
