/// The pauses, rates and limits that restrict claims, whether set by an operator or by the code.
struct ClaimRestrictions: Sendable, Hashable {
    /// Queues that are paused, and queues with a rate.
    let queues: [QueueSetting]
    /// Kinds with a limit.
    let kinds: [KindLimitRecord]
    /// The names of the queues with a rate.
    let ratedQueues: Set<String>
    /// The names of the kinds with a limit.
    let limitedKinds: Set<String>

    init(queues: [QueueSetting] = [], kinds: [KindLimitRecord] = []) {
        self.queues = queues
        self.kinds = kinds
        ratedQueues = Set(queues.lazy.filter { $0.rate != nil }.map(\.name))
        limitedKinds = Set(kinds.map(\.kind))
    }
}
