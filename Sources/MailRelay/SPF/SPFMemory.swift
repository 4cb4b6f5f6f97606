/// What an evaluation keeps from one run to the next, once an answer had to be waited for.
struct SPFMemory {
    /// What DNS answered to the questions that had to be waited for.
    var answers: [Question: LookupOutcome] = [:]
    /// The policies read so far: whatever is missing later on, none is read again.
    var records: [DomainName: SPFRecord] = [:]
    /// Whether the time is up: what is missing then counts as not answered in time.
    var isTimeUp = false
}
