/// What holds claims back, whoever set it.
struct ClaimRestrictions: Sendable, Hashable {
    /// Queues that are paused, and queues with a rate.
    var queues: [QueueSetting] = []
    /// Kinds with a limit.
    var kinds: [KindLimitRecord] = []
}
