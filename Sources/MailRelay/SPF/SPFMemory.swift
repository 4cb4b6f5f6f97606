/// The state that an evaluation carries from one run to the next, once it has had to wait for an answer.
struct SPFMemory {
    /// The answers that had to be waited for.
    var answers: [Question: LookupOutcome] = [:]
    /// The policies parsed so far, so that no later run parses them again.
    var records: [DomainName: SPFRecord] = [:]
    /// Whether the deadline has passed, so that missing answers count as timed out.
    var isTimeUp = false
}
