import ArgumentParser

/// The options of every act, after those of its own.
struct ActOptions<Target: ActTarget, Consent: ConsentOptions>: ParsableArguments {
    /// What is acted on.
    @OptionGroup
    var target: Target

    /// Who acts, and why.
    @OptionGroup
    var acting: ActingOptions

    /// Whether it is only shown, and how the question is answered beforehand.
    @OptionGroup
    var consent: Consent

    @OptionGroup
    var global: GlobalOptions
}
