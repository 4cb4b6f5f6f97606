/// What one pass over a policy gathers; the next begins with a new one.
struct SPFPass: ~Copyable {
    /// Whether there is a verdict and its explanation is sought.
    var isExplaining = false
    var terms = 0
    var voids = 0
    var trace: [SPFTraceStep] = []
    /// The name that the macro `p` stands for.
    var validatedName: DomainName?
    /// What reverse DNS says of the client, asked once: a lookup that found nothing counts once as such.
    var reverse: SPFReverseNames?
}
