import ArgumentParser

/// The options that every act shares, listed after the command's own.
struct ActOptions<Target: ActTarget, Consent: ConsentOptions>: ParsableArguments {
    /// The account or request to act on.
    @OptionGroup
    var target: Target

    /// The operator who acts, and the reason.
    @OptionGroup
    var acting: ActingOptions

    /// Whether this is a dry run, and the answer to the confirmation question if given in advance.
    @OptionGroup
    var consent: Consent

    @OptionGroup
    var global: GlobalOptions
}
