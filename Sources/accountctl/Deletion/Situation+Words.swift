import AccountLifecycle

extension Situation {
    /// What ends the situation, in words for an operator.
    ///
    /// Where the request looks again by itself, they say so: who removes the cause lets the account be erased.
    var endedBy: String {
        switch code {
        case .paused: "deletion resume"
        case .legalHold: "releasing the hold; the request then goes on by itself"
        case .ceiling: "time: requests go on as the hour passes; or a higher deletion.hourly_ceiling"
        case .blockingRows: "deleting the named rows or giving the constraint ON DELETE CASCADE" + Self.thenGoesOn
        case .refusingTrigger: "changing the trigger, or what it objects to" + Self.thenGoesOn
        case .unpublishable: "giving the named table a primary key or another replica identity" + Self.thenGoesOn
        case .missingRight: "granting the right to the worker's role" + Self.thenGoesOn
        case .hiddenRows: "giving the worker's role BYPASSRLS" + Self.thenGoesOn
        case .tooLarge: "a higher deletion.max_rows, or deleting the rows beforehand" + Self.thenGoesOn
        case .undecidedBucket: "naming the bucket in deletion.buckets or deletion.kept_buckets" + Self.thenGoesOn
        case .storageUnusable: "Storage answering again; see doctor"
        case .sealingKeyMissing:
            "adding the named sealing key to its file again; where it is lost for good, apple vault forget-key"
        case .appleMisconfigured: "correcting the Apple configuration, see doctor; or deletion proceed --without-apple"
        case .appleUnreachable: "Apple answering again; or deletion proceed --without-apple"
        case .codeUnderWay: "the answer of Apple, within seconds, or the end of the code, five minutes after it came in"
        case .otherAccount: "deletion cancel: the account that was meant no longer exists"
        case .residue:
            "removing what the named columns hold, which is looked for again within the hour, or at once by deletion retry; "
                + "or deletion accept COLUMN --reason"
        case .failing: "the next attempt; see the error with deletion show"
        }
    }

    private static let thenGoesOn = "; it then goes on within five minutes, or at once by deletion retry"
}
