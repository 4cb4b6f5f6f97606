/// The result of an act on one job, in words for people; refusals are thrown as errors.
enum JobAct: Sendable {
    /// The act was done, or would have been in a dry run.
    case done(String, would: String)
    /// The job was in this state already.
    case unchanged(String)
}
