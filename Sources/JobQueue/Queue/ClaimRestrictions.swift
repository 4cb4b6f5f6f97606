/// What holds claims back, whoever set it.
struct ClaimRestrictions: Sendable, Hashable {
    /// Those that are paused, and those with a rate.
    var queues: [QueueSetting] = []
    /// Those with a limit.
    var kinds: [KindLimitRecord] = []
}
