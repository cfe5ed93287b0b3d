use crate::{mapping, teach};

/// What is asked of a G1.
#[derive(Debug, Clone, PartialEq)]
pub enum Request {
    /// Of its arms.
    Teach(teach::RobotRequest),
    /// Of its SLAM service.
    Mapping(mapping::Request),
}

/// What a request brought about.
#[derive(Debug, Clone, PartialEq)]
pub enum Reply {
    /// Of the arms.
    Teach(teach::Answer),
    /// Of the SLAM service.
    Mapping(mapping::Answer),
}

impl Request {
    /// Whether it only asks, and changes nothing.
    pub const fn is_query(&self) -> bool {
        match self {
            Request::Teach(request) => request.is_query(),
            Request::Mapping(request) => {
                matches!(request, mapping::Request::Info | mapping::Request::Download { .. })
            }
        }
    }

    /// Whether it ends something that moves: no stop overtakes it.
    pub const fn is_stop(&self) -> bool {
        matches!(
            self,
            Request::Teach(teach::RobotRequest::Stop)
                | Request::Mapping(mapping::Request::Pause | mapping::Request::Close)
        )
    }

    /// Whether the robot moves when it is carried out. A recording makes the arms soft by itself.
    pub const fn moves(&self) -> bool {
        match self {
            Request::Teach(teach::RobotRequest::RecordStart { .. }) => true,
            Request::Teach(request) => request.moves(),
            Request::Mapping(request) => request.moves(),
        }
    }

    /// Whether it goes on until its client has gone.
    pub const fn lasts(&self) -> bool {
        matches!(self, Request::Mapping(request) if request.moves())
    }
}

impl From<teach::RobotRequest> for Request {
    fn from(request: teach::RobotRequest) -> Self {
        Request::Teach(request)
    }
}

impl From<mapping::Request> for Request {
    fn from(request: mapping::Request) -> Self {
        Request::Mapping(request)
    }
}

impl From<teach::Answer> for Reply {
    fn from(answer: teach::Answer) -> Self {
        Reply::Teach(answer)
    }
}

impl From<mapping::Answer> for Reply {
    fn from(answer: mapping::Answer) -> Self {
        Reply::Mapping(answer)
    }
}
