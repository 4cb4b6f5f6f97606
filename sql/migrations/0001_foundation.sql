-- accountctl: bundle=core
create schema accountctl;
