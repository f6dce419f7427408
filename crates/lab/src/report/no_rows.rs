//! What takes the place of files of rows in a build without Parquet, which they are written in: to
//! create one is refused before the first run. So none of these types has a value, and what would
//! be done with one needs no code.

use std::convert::Infallible;
use std::marker::PhantomData;

use nearslot_core::contract::Oracle;
use nearslot_core::ids::DriveId;
use nearslot_core::io::{Command, DriveDone, Origin};
use nearslot_core::request::Reply;
use nearslot_core::stack::Stack;
use nearslot_core::units::Instant;

use super::{ReportError, Target};
use crate::outcome::Results;

/// A file of rows in the making.
pub struct RowsWriter<R> {
    never: Infallible,
    rows: PhantomData<R>,
}

/// One run's part of the file.
pub struct Lane<R> {
    never: Infallible,
    rows: PhantomData<R>,
}

/// A complete part.
pub struct LaneFile(Infallible);

/// Answered requests.
pub struct RequestRows(Infallible);

/// Commands that have ended.
pub struct CommandRows(Infallible);

/// Watches drives and writes their commands down.
pub struct CommandLane(Infallible);

impl<R> RowsWriter<R> {
    /// Says that this build has no Parquet.
    ///
    /// # Errors
    /// Always.
    pub fn create(_: &Target) -> Result<RowsWriter<R>, ReportError> {
        Err(ReportError::NoParquet)
    }

    /// The part of a run.
    ///
    /// # Errors
    /// None: there is no writer.
    pub fn lane(&self, _: &str) -> Result<Lane<R>, ReportError> {
        match self.never {}
    }

    /// Joins the parts.
    ///
    /// # Errors
    /// None: there is no writer.
    pub fn finish(self, _: &Results, _: Vec<LaneFile>) -> Result<(), ReportError> {
        match self.never {}
    }
}

impl<R> Lane<R> {
    /// Adds a row.
    ///
    /// # Errors
    /// None: there is no lane.
    pub fn push(&mut self, _: impl FnOnce(&mut R)) -> Result<(), ReportError> {
        match self.never {}
    }

    /// Writes the rest.
    ///
    /// # Errors
    /// None: there is no lane.
    pub fn finish(self) -> Result<LaneFile, ReportError> {
        match self.never {}
    }
}

impl RequestRows {
    /// Adds an answered request.
    pub fn push(&mut self, _: &Reply, _: bool) {
        match self.0 {}
    }
}

impl CommandLane {
    /// Of a run over so many drives.
    pub fn new(lane: Lane<CommandRows>, _: Box<dyn Oracle>) -> CommandLane {
        match lane.never {}
    }

    /// A drive was given a command.
    pub fn started(&mut self, _: Instant, _: DriveId, _: &Command, _: &Origin, _: &Stack) {
        match self.0 {}
    }

    /// A drive ended its command.
    ///
    /// # Errors
    /// None: there is no lane.
    pub fn done(&mut self, _: Instant, _: DriveId, _: &DriveDone) -> Result<(), ReportError> {
        match self.0 {}
    }

    /// The lane, with everything in it.
    pub fn into_lane(self) -> Lane<CommandRows> {
        match self.0 {}
    }
}
