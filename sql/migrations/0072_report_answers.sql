-- accountctl: bundle=core
-- Reports of devices have Apple asked once a day about each credential. The events told only which reports had ended with an answer: one
-- that waits for a second credential had Apple asked about the first at each try, and one about several was remembered for none.

alter table accountctl.apple_credentials
    add column report_answered_at timestamptz;

comment on column accountctl.apple_credentials.report_answered_at is
    'When Apple last gave an answer on a device''s word; for a day no other report has it asked about this credential.';
