extension Situation {
    /// Why a request in a given state stands still; nil while a step is running that will check again.
    func standing(in state: DeletionState) -> Situation? {
        switch state {
        case .held, .blocked, .waitingForApple, .residue: self
        case .requested, .grace, .running, .settling, .verified, .cancelled: code.isOfFailure ? self : nil
        }
    }
}

extension Situation.Code {
    /// Whether the code is that of a failed step that is retried, during which the state remains that of the step.
    fileprivate var isOfFailure: Bool {
        switch self {
        case .storageUnusable, .sealingKeyMissing, .appleMisconfigured, .appleUnreachable, .failing: true
        case .paused, .legalHold, .ceiling, .blockingRows, .refusingTrigger, .unpublishable, .idleKey, .missingRight,
            .hiddenRows, .tooLarge, .undecidedBucket, .undecidedFile, .codeUnderWay, .otherAccount, .residue:
            false
        }
    }
}
