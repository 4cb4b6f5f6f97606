extension Situation {
    /// What a request in a state stands still for; nil while a step is being taken that looks at it anew.
    func standing(in state: DeletionState) -> Situation? {
        switch state {
        case .held, .blocked, .waitingForApple, .residue: self
        case .requested, .grace, .running, .settling, .verified, .cancelled: code.isOfFailure ? self : nil
        }
    }
}

extension Situation.Code {
    /// Whether a step fails for it and is tried again, the state being that of the step meanwhile.
    fileprivate var isOfFailure: Bool {
        switch self {
        case .storageUnusable, .sealingKeyMissing, .appleMisconfigured, .appleUnreachable, .failing: true
        case .paused, .legalHold, .ceiling, .blockingRows, .refusingTrigger, .unpublishable, .idleKey, .missingRight,
            .hiddenRows, .tooLarge, .undecidedBucket, .undecidedFile, .codeUnderWay, .otherAccount, .residue:
            false
        }
    }
}
