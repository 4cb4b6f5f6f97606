/// The state of one pass over a policy; each pass starts with a new one.
struct SPFPass: ~Copyable {
    /// Whether the verdict is known and its explanation is being looked up.
    var isExplaining = false
    var terms = 0
    var voids = 0
    var trace: [SPFTraceStep] = []
    /// The value of the macro `p`.
    var validatedName: DomainName?
    /// The client's reverse names, looked up once so that a void lookup counts only once.
    var reverse: SPFReverseNames?
}
